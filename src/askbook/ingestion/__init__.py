"""From a folder to an index that equals it: readers, splitting, state, jobs and audit."""
