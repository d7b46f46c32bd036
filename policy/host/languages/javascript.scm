(private_property_identifier) @identifier
