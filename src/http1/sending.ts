// When what writers hold leaves the process.

/** Something that has something to send. */
export interface Sender {
  send(): void;
  /** It has sent, and so have the others. */
  noteSent(): void;
}

/** A time at which senders are told to send. */
export interface Sending {
  /** What is complete waits for it as well. */
  readonly isLate: boolean;
  add(sender: Sender): void;
}

/** As soon as what happens now is over. */
export const sendingSoon: Sending = {
  isLate: false,
  add: (sender) => process.nextTick(send, sender),
};

/** So many in a row: what the first has to send must not wait for too many others. */
const maxSenders = 64;

let senders: Sender[] = [];

/**
 * When all that had come is read, those of one turn of the event loop together. A write takes the kernel through all of its network code,
 * and wakes who reads: done in a row, the code is at hand, and the reader still awake.
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
