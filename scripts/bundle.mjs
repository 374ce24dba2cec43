#!/usr/bin/env node
// Builds static/dist/widget.js from static/widget.js: the widget and the client as one minified module, which is what a page loads. The
// libraries of static/vendor stay files of their own, for they are loaded after the first paint; so do the languages but English, for a page
// has one.
// `--check` writes nothing and fails where the file that is there differs. Needs what scripts/e2e-setup installs.

import fs from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = path.join(root, "static/dist/widget.js");
const installed = createRequire(path.join(root, "tests/e2e/package.json"));
const { build, transform } = installed("esbuild");
const { minify } = installed("terser");

/** The libraries and the words of a language, named from where the bundle is served: beside the folders `vendor` and `widget`. */
const later = {
  name: "later",
  setup({ onResolve }) {
    onResolve({ filter: /\/vendor\/[\w-]+\.js$/ }, ({ path: file }) => ({ path: `./vendor/${path.basename(file)}`, external: true }));
    onResolve({ filter: /^\.\/strings\/\w+\.js$/ }, ({ path: file }) => ({ path: `./widget/${file.slice(2)}`, external: true }));
  },
};

/** The style is CSS in templates, which no minifier of scripts looks into. */
const style = {
  name: "style",
  setup({ onLoad }) {
    onLoad({ filter: /\/widget\/style\/[\w-]+\.js$/ }, async ({ path: file }) => {
      const [, before, css, after] = (await fs.readFile(file, "utf8")).match(/^(.*?)`([^`]*)`(.*)$/s);
      const { code } = await transform(css, { loader: "css", minify: true });
      return { contents: `${before}${JSON.stringify(code.trim())}${after}` };
    });
  },
};

/** The bundle's text. */
export async function bundle() {
  const made = await build({
    entryPoints: [path.join(root, "static/widget.js")],
    banner: { js: "/*! Portico's chat widget, Apache-2.0; built by scripts/bundle.mjs from static/widget.js */" },
    bundle: true,
    charset: "utf8",
    format: "esm",
    legalComments: "none",
    minify: true,
    plugins: [later, style],
    target: "es2022",
    write: false,
  });
  // once more, by what takes longer and finds more: 1.2 KB less on the wire
  const { code } = await minify(made.outputFiles[0].text, { module: true, ecma: 2020, compress: { passes: 3 }, format: { comments: /^!/ } });
  return `${code}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = await bundle();
  if (process.argv.includes("--check")) {
    const there = await fs.readFile(out, "utf8").catch(() => "");
    if (there !== text) {
      console.error("bundle: static/dist/widget.js is not what static/widget.js makes; run scripts/bundle.mjs");
      process.exit(1);
    }
  } else {
    await fs.mkdir(path.dirname(out), { recursive: true });
    await fs.writeFile(out, text);
  }
}
