"""Files that hold rows; the only subpackage that opens data files."""
