"""A picture as a splash screen has one: a rising sun over a horizon, and a word."""

WIDTH, HEIGHT = 640, 480
SKY, SEA, SUN, RAY, TEXT = (16, 24, 48), (10, 62, 92), (255, 176, 32), (255, 214, 120), (244, 244, 236)
# Five columns of seven points each, from the left; bit 0 is the top.
LETTERS = {
    "F": "7f 09 09 09 01",
    "I": "00 41 7f 41 00",
    "R": "7f 09 19 29 46",
    "S": "46 49 49 49 31",
    "T": "01 01 7f 01 01",
    "L": "7f 40 40 40 40",
    "G": "3e 41 49 49 7a",
    "H": "7f 08 08 08 7f",
}
WORD, POINT, LEFT, TOP = "FIRSTLIGHT", 9, 55, 340
HORIZON, CENTER, RADIUS = 290, 320, 110
SAMPLES = 3


def in_word(x, y):
    column, row = (x - LEFT) / POINT, (y - TOP) / POINT
    letter, place = divmod(column, 6)
    if not (0 <= letter < len(WORD) and place < 5 and 0 <= row < 7):
        return False
    bits = int(LETTERS[WORD[int(letter)]].split()[int(place)], 16)
    return bits >> int(row) & 1 == 1


def color(x, y):
    if in_word(x, y):
        return TEXT
    if y >= HORIZON:
        return SEA
    right, up = x - CENTER, HORIZON - y
    distance = right * right + up * up
    if distance <= RADIUS * RADIUS:
        return SUN
    # Seven rays: thin sectors from one circle to another.
    if (RADIUS + 20) ** 2 <= distance <= (RADIUS + 80) ** 2:
        for dx, dy in ((-97, 26), (-71, 71), (-26, 97), (0, 100), (26, 97), (71, 71), (97, 26)):
            along, across = right * dx + up * dy, right * dy - up * dx
            if along > 0 and abs(across) < 0.035 * along:
                return RAY
    return SKY


def pixels():
    """Rows of (red, green, blue), each the mean of nine samples: so edges are smooth."""
    places = [(n + 0.5) / SAMPLES for n in range(SAMPLES)]
    rows = []
    for y in range(HEIGHT):
        row = []
        for x in range(WIDTH):
            seen = [color(x + dx, y + dy) for dy in places for dx in places]
            row.append(tuple(sum(c) // len(seen) for c in zip(*seen)))
        rows.append(row)
    return rows
