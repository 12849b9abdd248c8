"""Slot values and the generic lines that every domain shares."""

from __future__ import annotations

# "#" stands for a random digit.
SLOTS: dict[str, tuple[str, ...]] = {
    "name": (
        "Priya Nair", "Tom Whitfield", "Ana Belmonte", "Kwame Adjei", "Ingrid Solberg", "Luca Ferrante", "Mei Tanaka",
        "Omar Haddad", "Ruth Pemberton", "Jonas Keller", "Sofia Marchetti", "Declan Byrne", "Hana Novak", "Victor Osei",
        "Claire Dumont", "Amir Rahimi", "Greta Lindqvist", "Paul Okafor", "Nadia Petrova", "Samuel Brandt",
    ),
    "agent": ("Alex", "Maya", "Chris", "Nora", "Ben", "Leila", "Marcus", "Tess", "Ivan", "Joy"),
    "city": (
        "Leeds", "Lisbon", "Hamburg", "Lyon", "Cork", "Oslo", "Porto", "Vienna", "Turin", "Bristol", "Gdansk", "Malaga",
        "Utrecht", "Glasgow", "Athens", "Zurich",
    ),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "date": (
        "3 March", "14 March", "22 April", "9 May", "17 May", "30 June", "5 July", "21 August", "12 September",
        "28 October", "11 November", "6 December",
    ),
    "birthday": (
        "3 March 197#", "9 May 198#", "30 June 196#", "21 August 199#", "11 November 198#", "6 December 195#",
    ),
    "time": ("eight", "nine", "half past nine", "ten", "half past eleven", "two", "a quarter past three", "four"),
    "fee": ("€4.50", "€7.90", "€9.99", "€12.00", "€1#.50", "€2#.00", "€3#.50"),
    "amount": ("€6#.20", "€7#.99", "€8#.00", "€9#.50", "€1##", "€1##.40", "€2##"),
    "number": ("1#####", "2#####", "4#####", "57####", "60####", "8#####"),
    "digits": ("12##", "30##", "47##", "58##", "71##", "96##"),
}  # fmt: skip

GREETINGS = (
    "Hi there",
    "Hello",
    "Good morning",
    "Good afternoon",
    "Hi, is anyone available?",
    "Hello, can someone help me?",
    "Hey",
)

ANSWERED_GREETINGS = (
    "Hello! What can I do for you today?",
    "Hi, how can I help you?",
    "Good day, you are speaking with {agent}. How can I help?",
    "Hello, thanks for getting in touch. What is it about?",
)

# The same frames for every intent: what they share says nothing about the request.
REQUESTS = (
    "I need help with {topic}.",
    "It is about {topic}.",
    "I have a question about {topic}.",
    "Can you help me with {topic}?",
    "Who can I talk to about {topic}?",
    "I am writing because of {topic}.",
    "Could we talk about {topic}?",
    "This concerns {topic}.",
    "I would like to know more about {topic}.",
    "There is something I have to ask about {topic}.",
    "Are you the right person to ask about {topic}?",
    "I am getting in touch about {topic}.",
)

TELL_ME_MORE = (
    "Could you tell me a little more about it?",
    "I see. Can you describe your situation in more detail?",
    "What else should I know about it?",
    "Tell me more, so that I can find the best way to help.",
)

HOLD_ON = (
    "One moment, please.",
    "Let me check that for you.",
    "Bear with me for a second.",
    "I am looking into it now.",
)

STILL_THERE = (
    "Are you still there?",
    "Take your time.",
    "Hello?",
)

ACKNOWLEDGEMENTS = (
    "Ok, thanks.",
    "Great.",
    "Perfect, thank you.",
    "All right.",
    "Got it.",
    "That makes sense.",
    "Ok.",
    "Good to know.",
)

ANYTHING_ELSE = (
    "Is there anything else I can help you with?",
    "Can I do anything else for you?",
    "Anything else today?",
    "You're welcome. Was there something else?",
)

LINKS = (
    "Yes, one more thing.",
    "Actually, there is something else.",
    "While I have you here, another question.",
    "Yes, please.",
)

HANDOVERS = (
    "I am not able to settle this myself, so I am adding a colleague to our chat.",
    "Let me bring in someone who can decide this.",
    "This needs a second pair of eyes. I am inviting a colleague to join us.",
)

THANKS = (
    "No, that's all. Thank you.",
    "Thanks for your help.",
    "That's everything, thanks.",
    "Thank you, bye.",
    "Brilliant, thanks a lot.",
    "Cheers, have a good day.",
)

FAREWELLS = (
    "You're welcome. Have a nice day!",
    "Happy to help. Goodbye!",
    "Thank you for contacting us. Take care!",
    "My pleasure. Bye!",
    "Have a great day!",
)
