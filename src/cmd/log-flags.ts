// How much is logged and in which form: flags of every command that keeps running.
import { logLevels } from '../base/log.ts';
import { defineFlags } from './flags.ts';

export const logFlags = defineFlags({
  logLevel: {
    type: 'enum',
    values: logLevels,
    default: 'info',
    env: 'MCP_GATEHOUSE_LOG_LEVEL',
    help: 'How much to log',
  },
  logFormat: {
    type: 'enum',
    values: ['auto', 'json', 'text'],
    default: 'auto',
    env: 'MCP_GATEHOUSE_LOG_FORMAT',
    help: 'auto is text on a terminal and JSON elsewhere',
  },
});
