// A web developer's own page server, as the widget's users have one: static files and pages of its own on one origin, /v1 handed on to the
// gateway. Its network can be cut, so that a browser meets what a train or a deployment does to it.

import { once } from "node:events";
import fs from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { bundle } from "../../scripts/bundle.mjs";
import { root } from "./support.mjs";

const KINDS = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8" };
/** As strict as a page can be: no inline script or style, no markup from a string but through the sanitiser's own policy. */
export const STRICT =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
  "require-trusted-types-for 'script'; trusted-types dompurify";

/**
 * Starts it. `pages` maps a path to an HTML body, a string; `upstream()` is the gateway's URL. Static files come from the working tree, and
 * the widget as the bundle that it makes now, so that a change needs no build.
 */
export async function startHost({ pages = {}, upstream, policy = STRICT, head = "" }) {
  const sockets = new Set();
  let isDown = false;
  const widget = await bundle();
  const server = http.createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://host");
    if (pathname.startsWith("/v1/")) return handOn(request, response);
    if (pages[pathname] !== undefined) return page(response, pages[pathname]);
    const file = path.join(root, "static", path.normalize(pathname));
    const body = pathname === "/widget.js" ? widget : await fs.readFile(file).catch(() => null);
    if (!body) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": KINDS[path.extname(file)] ?? "application/octet-stream", "cache-control": "no-cache" }).end(body);
  });

  function page(response, body) {
    response.writeHead(200, { "content-type": KINDS[".html"], "content-security-policy": policy });
    response.end(`<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A shop</title>
<meta name="viewport" content="width=device-width, initial-scale=1">${head}</head><body>${body}</body></html>`);
  }

  /** To the gateway as a request of this machine's own: the browser's word for where it comes from is about this origin, not that one. */
  function handOn(request, response) {
    const { origin, host, "sec-fetch-site": _, ...headers } = request.headers;
    const asked = http.request(new URL(request.url, upstream()), { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
      answer.once("aborted", () => response.destroy());
    });
    asked.once("error", () => response.destroy());
    response.once("close", () => asked.destroy());
    request.pipe(asked);
  }

  server.on("connection", (socket) => {
    if (isDown) return socket.destroy();
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => sockets.forEach((socket) => socket.destroy());
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Every connection ends now; new ones are taken. */
    cut,
    /** Every connection ends, and none is taken until `up`. */
    down() {
      isDown = true;
      cut();
    },
    up: () => (isDown = false),
    stop() {
      cut();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
