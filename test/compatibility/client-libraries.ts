// The MCP client libraries that have a column in docs/compatibility.md: SDK v1, SDK v2 and two of Python, in the versions of MCP that they speak.
import { installPythonMcp, pythonMcpVersions } from '../../scripts/install-python-mcp.ts';
import { type ClientLibrary, sdkV1, sdkV2, sdkV2Stateless } from '../mcp/sdk-clients.ts';
import { createPythonLibrary, pythonClientScript } from './python-client.ts';
import { createPythonProgram, type PythonProgram } from './python-program.ts';

/** In the order of the columns. */
export interface ClientLibraries {
  readonly all: readonly ClientLibrary[];
  /** Ends the programs that the clients of Python are in. */
  stop(): Promise<void>;
}

/** Makes sure that they are installed. */
export async function installClientLibraries(report: (line: string) => void): Promise<ClientLibraries> {
  const [python1, python2] = pythonMcpVersions;
  const prepare = async (version: (typeof pythonMcpVersions)[number]): Promise<PythonProgram> =>
    createPythonProgram(await installPythonMcp(version, report), pythonClientScript);
  const program1 = await prepare(python1);
  const program2 = await prepare(python2);
  return {
    all: [
      sdkV1,
      sdkV2,
      sdkV2Stateless,
      createPythonLibrary(program1, python1, false),
      createPythonLibrary(program2, python2, false),
      createPythonLibrary(program2, python2, true),
    ],
    stop: async () => void (await Promise.all([program1.stop(), program2.stop()])),
  };
}
