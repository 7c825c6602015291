/** Names of the message of an event. The first text that is not empty counts. */
export const messageNames = ['message', 'msg', 'body', 'event_name'] as const
