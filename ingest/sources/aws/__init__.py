"""Reader of AWS service models, in the format of botocore."""
