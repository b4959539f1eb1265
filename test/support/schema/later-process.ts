import { becomeLaterVersion } from './later-version.ts';

// Loaded by `node --import` before a command.

becomeLaterVersion();
