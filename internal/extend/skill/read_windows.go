package skill

const nonblock = 0
