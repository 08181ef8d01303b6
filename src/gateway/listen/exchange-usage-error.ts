// Thrown by the adapters when an Exchange is used against its contract: always a bug of the gateway, never the client's fault.

/** A call that the state of the exchange does not allow. */
export class ExchangeUsageError extends Error {
  readonly code = 'exchange_usage';

  constructor(message: string) {
    super(message);
    this.name = 'ExchangeUsageError';
  }
}
