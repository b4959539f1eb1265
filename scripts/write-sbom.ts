import { writeFileSync } from 'node:fs';
import { runtimePackages } from './dependency-rules.ts';
import { runNpm } from './npm.ts';
import { readDependencies } from './read-dependencies.ts';

// `npm run sbom [-- FILE]`: writes the software bill of materials (CycloneDX) of the production packages to a file or
// stdout.

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
  process.stderr.write(`npm could not create the bill of materials:\n${stderr}`);
  process.exitCode = 1;
}

/**
 * Removes development packages by the lock file, since npm's own `--omit dev` also omits packages that a development
 * dependency shares, such as `pg`.
 */
function ofProduction(bom: Bom): Bom {
  const { manifest, lock, convert } = readDependencies();
  const kept = new Set(runtimePackages(lock).map(({ name, version }) => `${name}@${version}`));
  const [root, part] = [manifest, convert.manifest].map(({ name, version }) => `${name}@${version}`);
  const ofPart = bom.dependencies.find(({ ref }) => ref === part)?.dependsOn ?? [];
  return {
    ...bom,
    // npm uses the folder's name.
    metadata: { ...bom.metadata, component: { ...bom.metadata.component, name: manifest.name } },
    components: bom.components.filter((component) => kept.has(component['bom-ref'])),
    dependencies: bom.dependencies
      .filter(({ ref }) => ref === root || kept.has(ref))
      .map(({ ref, dependsOn }) => ({
        ref,
        // `convert/` is part of the application.
        dependsOn: [...dependsOn, ...(ref === root ? ofPart : [])].filter((other) => kept.has(other)),
      })),
  };
}
