"""Taking fitted estimators and pipelines apart."""
