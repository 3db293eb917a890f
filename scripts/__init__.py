"""Programs for developers: benchmarks, exports, stubs, locks."""
