"""Benchmarks: ratios against bare boto3, measured in the same run on a concurrent DynamoDB engine."""
