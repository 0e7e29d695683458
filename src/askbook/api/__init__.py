"""The HTTP interface: routes, schemas and error bodies over one running `Askbook`."""
