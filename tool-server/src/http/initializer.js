// Starts Swagger UI. A token in the fragment (/docs/#token=…) is kept for this browser session and sent
// with every call; the fragment is removed, so that it does not stay in the address bar or the history.
// The optional headers of a call are one closed group above the operations; what is entered there is sent
// with every call until the page is left.
window.onload = function () {
  const kept = "autonous-token";
  const match = /^#token=(.+)$/.exec(window.location.hash);
  if (match) {
    window.sessionStorage.setItem(kept, decodeURIComponent(match[1]));
    window.history.replaceState(null, "", window.location.pathname);
  }

  const headers = {};

  function optionalHeaders(system) {
    const element = system.React.createElement;
    const known = system.specSelectors.specJson().get("x-optional-headers");
    if (!known) {
      return null;
    }
    const row = function (header) {
      const name = header.get("name");
      const enter = function (event) {
        headers[name] = event.target.value;
      };
      return element(
        "tr",
        { key: name },
        element("td", null, element("label", { htmlFor: "header-" + name }, element("code", null, name))),
        element("td", null, element("input", { id: "header-" + name, type: "text", onChange: enter })),
        element("td", null, header.get("description")),
      );
    };
    const table = element("table", null, element("tbody", null, known.toArray().map(row)));
    const summary = element("summary", { style: { cursor: "pointer" } }, "Optional headers of a call");
    return element("details", { id: "optional-headers", className: "wrapper" }, summary, table);
  }

  const withHeaderGroup = function () {
    return {
      wrapComponents: {
        operations: function (Original, system) {
          return function (props) {
            const element = system.React.createElement;
            return element("div", null, optionalHeaders(system), element(Original, props));
          };
        },
      },
    };
  };

  window.ui = SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#swagger-ui",
    validatorUrl: null,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    plugins: [withHeaderGroup],
    layout: "BaseLayout",
    requestInterceptor: function (request) {
      if (request.method === "POST") {
        for (const name of Object.keys(headers).filter((name) => headers[name])) {
          request.headers[name] = headers[name];
        }
      }
      return request;
    },
    onComplete: function () {
      const token = window.sessionStorage.getItem(kept);
      if (token) {
        window.ui.preauthorizeApiKey("bearer", token);
      }
    },
  });
};
