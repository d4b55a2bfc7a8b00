"""What made the files in resources/: painters, everyday sounds, experts, backbones."""
