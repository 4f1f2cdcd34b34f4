// The page's connection to the worker: it starts the engine, sends questions, and stops the engine.

/** @typedef {{ done: number, most: number, text: string }} Progress */
/** @typedef {(progress: Progress) => void} OnProgress */
/**
 * @typedef {object} Waiting
 * @property {(answer: any) => void} resolve
 * @property {(error: Error) => void} reject
 * @property {OnProgress | null} onProgress
 */

/** The error of a run that was stopped. */
export class Stopped extends Error {}

/** An engine in a worker. It loads the model before the first question, and again after `stop`. */
export class EngineClient {
  /**
   * @param {string} script the engine as one script
   * @param {object} model the argument of the worker's `load`
   */
  constructor(script, model) {
    this.address = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
    this.model = model;
    this.asked = 0;
    /** @type {Map<number, Waiting>} */
    this.waiting = new Map();
    /** @type {Worker | null} */
    this.worker = null;
    this.milliseconds = 0;
  }

  /**
   * Ask the worker and return its answer.
   * @param {string} call
   * @param {unknown} given
   * @param {OnProgress | null} onProgress
   * @returns {Promise<any>}
   */
  ask(call, given, onProgress = null) {
    if (!this.worker) this.start();
    return this.send(call, given, onProgress);
  }

  start() {
    const worker = new Worker(this.address);
    worker.onmessage = ({ data }) => this.hear(data);
    worker.onerror = ({ message }) => this.fail(new Error(message || 'The engine did not start.'));
    this.worker = worker;
    // Messages are answered in order, so nothing has to wait for the model here.
    this.send('load', this.model, null).catch((error) => this.fail(error));
  }

  /**
   * @param {string} call
   * @param {unknown} given
   * @param {OnProgress | null} onProgress
   */
  send(call, given, onProgress) {
    this.asked += 1;
    const number = this.asked;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject, onProgress });
      this.worker?.postMessage({ number, call, given });
    });
  }

  /** @param {any} message */
  hear({ number, progress, answer, error, milliseconds }) {
    const waiting = this.waiting.get(number);
    if (!waiting) return;
    if (progress) {
      waiting.onProgress?.(progress);
      return;
    }
    this.waiting.delete(number);
    this.milliseconds = milliseconds;
    if (error === undefined) waiting.resolve(answer);
    else waiting.reject(new Error(error));
  }

  /**
   * Stop everything that runs. A worker cannot be interrupted, so it is terminated, and the next
   * worker loads the model again.
   */
  stop() {
    this.fail(new Stopped('The run was stopped.'));
  }

  /** @param {Error} error */
  fail(error) {
    this.worker?.terminate();
    this.worker = null;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}
