"""Reader of OData v2 and v4 services: EDMX and CSDL documents."""
