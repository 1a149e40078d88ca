print("ringwright")
