"""How the models of templates are learnt."""
