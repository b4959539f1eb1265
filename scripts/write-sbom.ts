import { writeFileSync } from 'node:fs';
import { runtimePackages } from './dependency-rules.ts';
import { runNpm } from './npm.ts';
import { readDependencies } from './read-dependencies.ts';

// `npm run sbom [-- FILE]`: the software bill of materials (CycloneDX) of what runs in production, in a file or on stdout.

interface Bom {
  metadata: { component: { name: string } };
  components: { 'bom-ref': string }[];
  dependencies: { ref: string; dependsOn: string[] }[];
}

const { status, stdout, stderr } = runNpm(
  ...['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'],
);
if (status === 0) {
  const text = `${JSON.stringify(ofProduction(JSON.parse(stdout) as Bom), null, 2)}\n`;
  const [, , file] = process.argv;
  if (file === undefined) process.stdout.write(text);
  else writeFileSync(file, text);
} else {
  process.stderr.write(`npm could not make the bill of materials:\n${stderr}`);
  process.exitCode = 1;
}

/**
 * npm's own `--omit dev` leaves out what a development dependency needs as well, `pg` among it. So
 * it is asked for everything, and what the lock file marks as development's is taken out here.
 */
function ofProduction(bom: Bom): Bom {
  const { manifest, lock } = readDependencies();
  const kept = new Set(runtimePackages(lock).map(({ name, version }) => `${name}@${version}`));
  const root = `${manifest.name}@${manifest.version}`;
  return {
    ...bom,
    // npm takes the name of the folder.
    metadata: { ...bom.metadata, component: { ...bom.metadata.component, name: manifest.name } },
    components: bom.components.filter((component) => kept.has(component['bom-ref'])),
    dependencies: bom.dependencies
      .filter(({ ref }) => ref === root || kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) })),
  };
}
