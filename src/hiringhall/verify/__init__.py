"""`hall verify`: cases of the protocols, played with worker programs and servers in any language."""
