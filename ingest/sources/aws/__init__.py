"""The document format of AWS service models, as botocore ships them."""

from ingest.sources.aws.source import AwsSource

__all__ = ["AwsSource"]
