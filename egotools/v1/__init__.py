"""The stubs of ``proto/egotools/v1``, made by ``scripts/generate_stubs.sh``; changed nowhere else."""
