"""Reader of OpenAPI 3.x and Swagger 2.0 documents."""
