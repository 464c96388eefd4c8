// The size of a message either side accepts.

/**
 * gRPC's default of 4 MiB is reached by one ListVolumes or ListSnapshots answer of some 10,000 entries, and drivers
 * that ignore `max_entries` exist. 64 MiB holds 100,000 entries with room for their contexts, and still bounds what a
 * broken peer can make us allocate.
 */
export const defaultMaxMessageBytes = 64 * 1024 * 1024;
