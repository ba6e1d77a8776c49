import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js';

/** Shows the document that the page names. Nothing is loaded from elsewhere: the validator's badge is off. */
const main = document.getElementById('docs');
if (main) {
  SwaggerUI({
    domNode: main,
    url: main.dataset.url ?? '',
    validatorUrl: null,
    deepLinking: true,
    defaultModelsExpandDepth: 0,
    presets: [SwaggerUI.presets.apis],
  });
}
