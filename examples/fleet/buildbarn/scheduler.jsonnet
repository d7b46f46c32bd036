{
  "actionRouter": { "simple": {
    "platformKeyExtractor": { "static": { "properties": [{ "name": "context-mode", "value": "1" }] } },
    "invocationKeyExtractors": [{ "correlatedInvocationsId": {} }],
    "initialSizeClassAnalyzer": {
      "defaultExecutionTimeout": "150s",
      "maximumExecutionTimeout": "7200s"
    }
  } },
  "predeclaredPlatformQueues": [{
    "instanceNamePrefix": "",
    "platform": { "properties": [{ "name": "context-mode", "value": "1" }] },
    "sizeClasses": [0]
  }],
  "platformQueueWithNoWorkersTimeout": "900s"
}
