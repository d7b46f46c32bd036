(private_property_identifier) @identifier
(field_definition property: (_) @bind.target value: (_) @bind.value) @bind
