// Schedules when writers send the bytes that they hold.

/** A writer with bytes to send. */
export interface Sender {
  send(): void;
  /** Called after this sender and all others of the batch have sent. */
  noteSent(): void;
}

/** A schedule that tells senders when to send. */
export interface Sending {
  /** Complete messages wait as well. */
  readonly isLate: boolean;
  add(sender: Sender): void;
}

/** Sends as soon as the current callback is over. */
export const sendingSoon: Sending = {
  isLate: false,
  add: (sender) => process.nextTick(send, sender),
};

/** Senders per batch: the first sender must not wait for too many others. */
const maxSenders = 64;

let senders: Sender[] = [];

/**
 * Sends the bytes of one turn of the event loop together, after all input of that turn was read. Each write runs the kernel's network code and wakes
 * the receiver: with writes in a row, that code is still in the CPU cache and the receiver still awake.
 */
export const sendingTogether: Sending = {
  isLate: true,
  add(sender) {
    if (senders.length === 0) setImmediate(sendAll);
    senders.push(sender);
    if (senders.length === maxSenders) process.nextTick(sendAll);
  },
};

function sendAll(): void {
  const all = senders;
  senders = [];
  for (const sender of all) sender.send();
  for (const sender of all) sender.noteSent();
}

function send(sender: Sender): void {
  sender.send();
  sender.noteSent();
}
