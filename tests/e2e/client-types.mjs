// The client as a package: what is published installs, a consumer in strict TypeScript compiles against it and runs, and the modules are
// what their types say.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { DEADLINE_MS, cache, root } from "./support.mjs";

const here = path.join(root, "tests/e2e");
const source = path.join(root, "static");
const work = path.join(cache, "client-types");
const tsc = path.join(here, "node_modules/typescript/bin/tsc");

async function run(command, args) {
  const { stdout } = await promisify(execFile)(command, args, { cwd: work, timeout: DEADLINE_MS }).catch((error) => {
    throw new Error(`${command} ${args.join(" ")}:\n${error.stdout}${error.stderr}`, { cause: error });
  });
  return stdout;
}

before(async () => {
  await fs.rm(work, { recursive: true, force: true });
  await fs.mkdir(work, { recursive: true });
});

test("the package installs, and a strict consumer compiles against it and runs", async () => {
  const [{ filename, files }] = JSON.parse(await run("npm", ["pack", source, "--json"]));
  const names = files.map(({ path: name }) => name);
  for (const name of ["client.js", "client.d.ts", "client/reduce.js", "widget.d.ts", "widget/strings/zh.js", "README.md", "package.json"])
    assert.ok(names.includes(name), `${name} in ${names}`);
  assert.deepEqual(
    names.filter((name) => /index\.html|page\./.test(name)),
    [],
  );
  await fs.writeFile(path.join(work, "package.json"), '{"type": "module", "private": true}');
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", `./${filename}`]);
  await fs.copyFile(path.join(here, "clients/portico-client.ts"), path.join(work, "consumer.ts"));
  await run(process.execPath, [tsc, "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "consumer.ts"]);
  assert.equal(await run(process.execPath, ["consumer.js"]), "user: hello\n");
});

test("the document's snippets compile under strict, with the package and with the gateway's files", async () => {
  const text = await fs.readFile(path.join(root, "docs/WIDGET.md"), "utf8");
  const snippets = [...text.matchAll(/```js\n(.*?)```/gs)].map(([, snippet]) => snippet);
  assert.ok(snippets.length >= 3);
  const { compilerOptions } = JSON.parse(text.match(/```json\n(.*?)```/s)[1]);
  await fs.mkdir(path.join(work, "types"), { recursive: true });
  for (const file of ["client.d.ts", "widget.d.ts"]) await fs.copyFile(path.join(source, file), path.join(work, "types", file));
  const files = [];
  for (const [at, snippet] of snippets.entries()) {
    const known = snippet.includes("const chat =") ? "" : 'const chat = document.querySelector("portico-chat");\n';
    const code = `${known}${snippet}`.replace(/querySelector\("[^"]*"\)/g, "$&!");
    for (const [way, from] of [["package", "portico-client"], ["files", ""]]) {
      const name = `snippet-${way}-${at}.ts`;
      files.push(name);
      const widget = from ? `${from}/widget` : "/widget.js";
      await fs.writeFile(path.join(work, name), `import type {} from "${widget}";\n${from ? code.replace("/client.js", from) : code}`);
    }
  }
  await fs.copyFile(path.join(here, "clients/portico-chat.ts"), path.join(work, "snippet-element.ts"));
  files.push("snippet-element.ts");
  const options = { ...compilerOptions, strict: true, noEmit: true, target: "es2022", module: "esnext", moduleResolution: "bundler", lib: ["es2022", "dom", "dom.iterable"], types: [] };
  await fs.writeFile(path.join(work, "tsconfig.json"), JSON.stringify({ compilerOptions: options, files }));
  await run(process.execPath, [tsc, "--project", "tsconfig.json"]);
});

test("the modules are what their types say", async () => {
  const names = ["Portico", "Session", "Problem", "emptyView", "reduce", "rawMember", "spell", "frames"];
  await fs.writeFile(
    path.join(work, "held.ts"),
    `import type * as Said from "${source}/client.js";\n` +
      `import { Portico, Session } from "${source}/client/session.js";\nimport { Problem } from "${source}/client/api.js";\n` +
      `import { emptyView, reduce } from "${source}/client/reduce.js";\nimport { rawMember, spell } from "${source}/client/json.js";\n` +
      `import { frames } from "${source}/client/stream.js";\n` +
      `const real = { ${names.join(", ")} };\nconst said: Pick<typeof Said, keyof typeof real> = real;\nexport default said;\n`,
  );
  const options = [
    "--strict",
    "--noEmit",
    "--allowJs",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--lib",
    "es2022,dom,dom.iterable,dom.asynciterable",
  ];
  await run(process.execPath, [tsc, ...options, "held.ts"]);
  assert.deepEqual(Object.keys(await import(`${source}/client.js`)).sort(), names.sort());
});

test("the package has all that its files and its README name, and each licence", async () => {
  const [{ files }] = JSON.parse(await run("npm", ["pack", source, "--dry-run", "--json"]));
  const names = new Set(files.map(({ path: name }) => name));
  const text = (name) => fs.readFile(path.join(source, name), "utf8");
  const { exports } = JSON.parse(await text("package.json"));
  const targets = Object.values(exports).flatMap((one) => (typeof one === "string" ? one : Object.values(one)));
  const wanted = [...targets, "widget.d.ts", "LICENSE", "vendor/LICENSES", "vendor/markdown-it.js", "vendor/dompurify.js"];
  const links = [...(await text("README.md")).matchAll(/\]\(([^)]*)\)/g)].map(([, to]) => to);
  wanted.push(...links.filter((to) => !/^(https:|#)/.test(to)));
  for (const name of names) {
    if (!/\.js$|\.d\.ts$/.test(name) || name.startsWith("vendor/")) continue;
    for (const [, to] of (await text(name)).matchAll(/(?:from |import\(|import )"(\.[^"]*)"/g)) wanted.push(path.join(path.dirname(name), to));
  }
  assert.deepEqual(
    wanted.map((name) => path.normalize(name)).filter((name) => !names.has(name)),
    [],
  );
  assert.deepEqual(exports["./widget"], { types: "./widget.d.ts", default: "./widget.js" });
});

test("it is small", async (t) => {
  const { outputFiles } = await build({
    entryPoints: [path.join(source, "client.js")],
    bundle: true,
    format: "esm",
    minify: true,
    write: false,
  });
  const { length } = gzipSync(outputFiles[0].contents, { level: 9 });
  t.diagnostic(`${length} bytes as a bundle, gzip -9`);
  assert.ok(length < 9 * 1024, `${length} bytes`);
});
