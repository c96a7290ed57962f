/* Search in a site that is read from a disk: browsers start no Worker from file:, so a hidden frame
 * stands in for it. The theme would load a script for this from the network.
 */
(function () {
  "use strict";
  if (location.protocol !== "file:") return;

  function load(...urls) { /* importScripts, one after the other */
    return urls.reduce(
      (before, url) => before.then(() => new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = url;
        script.onload = done;
        script.onerror = failed;
        document.body.appendChild(script);
      })),
      Promise.resolve()
    );
  }

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      this.inside = this.frame.contentWindow;
      this.heard = (event) => {
        if (event.source !== this.inside) return;
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        if (this.onmessage) this.onmessage(event);
      };
      window.addEventListener("message", this.heard);
      this.inside.document.open();
      this.inside.document.write(
        "<html><body><script>postMessage = (data) => parent.postMessage(data, '*');" +
        "importScripts = " + load + ";<\/script><script src=\"" + url + "\"><\/script></body></html>"
      );
      this.inside.document.close();
      this.ready = new Promise((done) => { this.inside.onload = done; });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
        .catch(console.error);
    }
    terminate() {
      window.removeEventListener("message", this.heard);
      this.frame.remove();
    }
  };
})();
