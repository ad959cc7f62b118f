/** Ends the search for sums of products. */
export class NoFit extends Error {}

/** Ends the search in results that have another form. They may be functions of sums. */
export class NoForm extends NoFit {}
