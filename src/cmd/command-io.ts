// What a command that prints something and ends may use of its process.

/** Where the command writes, and what it may read of the process. */
export interface CommandIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly color: boolean;
  readonly env: NodeJS.ProcessEnv;
}
