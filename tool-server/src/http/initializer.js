// Starts Swagger UI. A token in the fragment (/docs/#token=…) is kept for this browser session and sent
// with every call; the fragment is removed, so that it does not stay in the address bar or the history.
window.onload = function () {
  const kept = "autonous-token";
  const match = /^#token=(.+)$/.exec(window.location.hash);
  if (match) {
    window.sessionStorage.setItem(kept, decodeURIComponent(match[1]));
    window.history.replaceState(null, "", window.location.pathname);
  }
  window.ui = SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#swagger-ui",
    validatorUrl: null,
    tryItOutEnabled: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    layout: "BaseLayout",
    onComplete: function () {
      const token = window.sessionStorage.getItem(kept);
      if (token) {
        window.ui.preauthorizeApiKey("bearer", token);
      }
    },
  });
};
