"""torch's module of anomaly detection."""

from ._backward import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]
