package actor
