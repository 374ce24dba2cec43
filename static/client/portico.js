// A gateway, as the client sees it.

import { caller, jsonOf } from "./api.js";
import { browser } from "./host.js";
import { Session } from "./session.js";

export class Portico {
  #call;
  #host;

  constructor({ base, credential, host } = {}) {
    const own = new URL("../", import.meta.url);
    this.base = new URL(base ?? own, globalThis.location?.href ?? own);
    if (!this.base.pathname.endsWith("/")) this.base.pathname += "/";
    this.#host = { ...browser, ...host };
    this.#call = caller({ base: this.base, credential, host: this.#host });
  }

  session(options = {}) {
    return new Session({ call: this.#call, host: this.#host, base: this.base, options });
  }

  async request(method, path, options) {
    return jsonOf(await this.#call(method, path, options));
  }
}
