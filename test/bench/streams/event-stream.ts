// What both ends of the event streams know.

/** Once in every event and nowhere else, so that events can be counted whatever became of chunks on the way. */
export const endOfEvent = '~';
