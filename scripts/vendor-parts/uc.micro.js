// Stands in for the package `uc.micro` in the bundle of markdown-it: the browser's own tables of Unicode say what a punctuation mark is.

export const P = /\p{P}/u;
export const S = /\p{S}/u;
