// Stands in for the package `mdurl` in the bundle of markdown-it: addresses are read by the browser's `URL`, in the functions that
// `widget/html.js` puts in the place of those that used this package.

export const parse = (href) => ({ href });
export const format = ({ href }) => href;
export const encode = String;
export const decode = String;
