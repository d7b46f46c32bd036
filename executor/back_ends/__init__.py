"""The back ends, opened: what a server needs of each, and the choice by experiment."""
