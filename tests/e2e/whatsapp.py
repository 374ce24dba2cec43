"""What pywa, somebody else's client of WhatsApp, sends and believes, as JSON for whatsapp.mjs. Nothing leaves the process."""

import json
import pathlib
import sys

import httpx
from pywa import WhatsApp, types, utils

sent = []


def answer(request):
    sent.append(json.loads(request.content))
    body = {"messaging_product": "whatsapp", "contacts": [{"input": "1", "wa_id": "1"}], "messages": [{"id": "wamid.X"}], "success": True}
    return httpx.Response(200, json=body)


def captured(call):
    sent.clear()
    call()
    (body,) = sent
    return body


def main(root):
    client = httpx.Client(transport=httpx.MockTransport(answer))
    wa = WhatsApp(phone_id="100000000000001", token="EAAsampletoken", session=client, verify_token="sample_verify_token", server=None)
    phone, user, group = "15550100001", "US.30000000000000000001", "GRP1"
    titles = {"allow_once": "Allow once", "allow_session": "Allow in this chat", "deny": "Deny"}
    buttons = [types.Button(title, callback_data=f"apr_0123:{word}") for word, title in titles.items()]

    def message(to, text, **more):
        return captured(lambda: wa.send_message(to, text, tracker="dlv_1:1", **more))

    quoted = {"reply_to_message_id": "wamid.ASKED"}
    bodies = {
        "text": message(phone, "Crème brûlée 😊"),
        "text_quoted": message(phone, "yes", **quoted),
        "buttons": message(phone, "May I run it?", buttons=buttons),
        "buttons_quoted": message(phone, "May I run it?", buttons=buttons, **quoted),
        "user": message(user, "hello"),
        "group": message(group, "hello"),
        "typing": captured(lambda: wa.indicate_typing("wamid.ASKED")),
    }
    samples = pathlib.Path(root, "tests/samples/whatsapp")
    (vector, _) = json.loads((samples / "signature_vectors.json").read_text())
    raw = (samples / vector["file"]).read_bytes()

    def signed(body, header):
        return utils.webhook_updates_validator(vector["app_secret"], body, header)

    signature = {
        "right": signed(raw, vector["x_hub_signature_256"]),
        "rewritten": signed(raw, vector["sha256_of_reserialised_python_json"]),
        "other_body": signed(raw + b" ", vector["x_hub_signature_256"]),
    }
    handshake = {
        "right": wa.webhook_challenge_handler(vt="sample_verify_token", ch="1158201444"),
        "wrong": wa.webhook_challenge_handler(vt="other", ch="1158201444")[1],
    }
    json.dump({"sent": bodies, "signature": signature, "handshake": handshake}, sys.stdout)


main(sys.argv[1])
