// Stands in for the lists of tags and attributes in the bundle of DOMPurify: they are what it allows where nobody says, and the widget says
// (`CLEAN` in `widget/nodes.js`). Without a list nothing is allowed.

const none = [];
export { none as html, none as mathMl, none as mathMlDisallowed, none as svg, none as svgDisallowed, none as svgFilters, none as xml };
export const text = ["#text"];
