// Given to Node with `--import` for a lane: a cheaper way for node:test to know which test code belongs to. By itself it asks async hooks, which follow every
// promise until it is collected. AsyncLocalStorage knows it, too, for next to nothing, because V8 hands it on. node:test takes what it needs of node:async_hooks
// when it is loaded, which happens here; nobody else gets these. Should a later Node take it from elsewhere, tests cost more again, and nothing else happens.
import asyncHooks, { AsyncLocalStorage } from 'node:async_hooks';

const { AsyncResource, createHook, executionAsyncId } = asyncHooks;
/** The id of the test, or the hook of one, that code runs in. */
const current = new AsyncLocalStorage<number>();
/** What the runner wants to be told. */
let callbacks: asyncHooks.HookCallbacks | undefined;

/** In place of what node:test makes its tests and their hooks of. */
class FollowedResource extends AsyncResource {
  constructor(...args: ConstructorParameters<typeof AsyncResource>) {
    super(...args);
    callbacks?.init?.(this.asyncId(), args[0], 0, this);
  }

  override runInAsyncScope<This, Result>(
    run: (this: This, ...args: unknown[]) => Result,
    thisArg?: This,
    ...args: unknown[]
  ): Result {
    return super.runInAsyncScope(() => current.run(this.asyncId(), () => Reflect.apply(run, thisArg as This, args)));
  }
}

Object.assign(asyncHooks, {
  AsyncResource: FollowedResource,
  createHook: (given: asyncHooks.HookCallbacks) => ({
    enable: () => (callbacks = given),
    disable: () => (callbacks = undefined),
  }),
  executionAsyncId: () => current.getStore() ?? 0,
});
await import('node:test');
Object.assign(asyncHooks, { AsyncResource, createHook, executionAsyncId });
