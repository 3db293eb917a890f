"""Reader of AWS service models, in the format of botocore."""

from ingest.sources.aws.source import AwsSource

__all__ = ["AwsSource"]
