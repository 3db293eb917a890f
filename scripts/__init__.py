"""Programs for developers: benchmarks, the pages of results, stubs, locks."""
