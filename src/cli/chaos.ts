import { defineCommand } from './command.ts';
export const command = defineCommand({ summary: 'x', flags: {}, async run() {} });
