// How a recorded driver behaved: for each kind of call and each object, the results in order and how long each took. A simulated
// object follows the course of one that was recorded, drawn by the seed. Pure, apart from what was drawn.

import type { RecordedCall } from '../../recording/read-recording.ts';
import { isRead, subjectOf } from '../../recording/replay/identifiers.ts';
import type { Random } from '../../runtime/ports.ts';
import type { GrpcCode } from '../../wire/grpc/grpc-code.ts';
import type { Message } from '../../wire/protobuf/descriptor.ts';

export interface ObservedCall {
  readonly code: GrpcCode;
  readonly text: string;
  readonly latencyMs: number;
  /** The driver never answered. */
  readonly isLost: boolean;
  readonly response: Message | undefined;
}

/** The calls of one kind for one object, in order. */
export type Course = readonly ObservedCall[];

export class ObservedCalls {
  readonly #courses = new Map<string, Course[]>();

  constructor(calls: readonly RecordedCall[]) {
    const byObject = new Map<string, { method: string; course: ObservedCall[] }>();
    for (const call of calls) {
      const { method, answer } = call;
      if (!method || isRead(method)) continue;
      const key = `${method.name} ${subjectOf(method, call.request)}`;
      const known = byObject.get(key) ?? { method: method.name, course: [] };
      byObject.set(key, known);
      known.course.push({
        code: answer?.code ?? 'UNAVAILABLE',
        text: answer?.text ?? '',
        latencyMs: answer ? answer.atMs - call.atMs : 0,
        isLost: answer === undefined || answer.isLost,
        response: answer?.response,
      });
    }
    for (const { method, course } of byObject.values()) {
      const all = this.#courses.get(method) ?? [];
      all.push(course);
      this.#courses.set(method, all);
    }
  }

  /** Undefined for a kind of call that was not recorded. */
  draw(method: string, random: Random): Course | undefined {
    const courses = this.#courses.get(method);
    return courses?.[random.int(courses.length)];
  }
}
